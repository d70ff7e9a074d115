/** A parameter or result value of a statement. Lists and objects are JSON text. */
export type SqlValue = string | number | null;
