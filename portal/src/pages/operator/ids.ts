// Which page an id leads to. The prefix of an id says what it names.

const pages: Record<string, (id: string) => string> = {
  nod: (id) => `/operator/nodes/${id}`,
  slt: (id) => `/operator/slots/${id}`,
  alc: (id) => `/operator/allocations/${id}`,
  wkl: (id) => `/operator/workloads/${id}`,
  tnt: (id) => `/operator/tenants/${id}`,
  prj: (id) => `/projects/${id}`,
  ovr: () => '/operator/overrides',
};

/** The page for an id, where there is one. */
export function placeOf(id: string): string | undefined {
  return pages[id.split('_')[0] ?? '']?.(id);
}

/** The beginning and the end of an id: enough to tell it from others on one page. */
export function shortId(id: string): string {
  const [prefix, rest] = id.split('_');
  return rest !== undefined && rest.length > 10 ? `${prefix}…${rest.slice(-6)}` : id;
}
