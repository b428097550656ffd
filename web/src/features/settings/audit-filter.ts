/** How far back, by the names that the address has. */
export const AGES = { day: 1, week: 7, month: 30 } as const;

export type Age = keyof typeof AGES;

export type AuditFilter = { user?: string; target?: string; age?: Age };
