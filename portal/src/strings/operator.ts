// What the pages of the platform's operators say, by page.

/** Words of the operators' pages. */
export const operator = {} as const;
