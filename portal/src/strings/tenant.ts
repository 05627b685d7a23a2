// What the pages of those who use the platform say, by page.

/** Words of the tenants' pages. */
export const tenant = {
  start: {
    noProject: 'You have no project yet',
    noProjectDetail: 'An administrator of your tenant can make you a member of one. Then it shows up here by itself.',
  },
  signIn: {
    title: 'Sign in',
    token: 'Token',
    tokenHint: 'It begins with gpuaas_. It is sent once and not kept in the browser.',
    withToken: 'Sign in with the token',
    withProvider: (name: string) => `Sign in with ${name}`,
    refused: 'This token does not open anything',
    refusedDetail: 'It is mistyped, expired or revoked. An administrator of your tenant can make another.',
  },
  sshKeys: {
    title: 'SSH keys',
    lead: 'Public keys of this project. A launch gets a copy of those it names; removing one here does not reach into what runs.',
    add: 'Add a key',
    name: 'Name',
    nameHint: 'Lower-case letters, digits and hyphens, unique in the project.',
    publicKey: 'Public key',
    publicKeyHint: 'One line, as it stands in a .pub file: Ed25519, ECDSA, or RSA of at least 2048 bits.',
    fingerprint: 'Fingerprint',
    added: 'Added',
    remove: 'Remove',
    removeTitle: (name: string) => `Remove the key ${name}?`,
    removeDetail: 'New launches cannot use it any more. Machines that run already still take it.',
    empty: 'No key yet',
    emptyDetail: 'Without a key nobody can sign in to what is launched. Add the public half of yours; the private half stays with you.',
    wasAdded: (name: string) => `${name} was added.`,
    wasRemoved: (name: string) => `${name} was removed.`,
  },
} as const;
