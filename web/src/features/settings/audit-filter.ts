/** Filter of the audit log, as its address has it. */
export const AGES = { day: 1, week: 7, month: 30 } as const;

export type Age = keyof typeof AGES;

export type AuditFilter = { user?: string; target?: string; age?: Age };
