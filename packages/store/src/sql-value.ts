/** A value that goes into or comes out of a statement. Lists and objects travel as JSON text. */
export type SqlValue = string | number | null;
