/** Formats of `agl show`. */
export const showFormats = ['tree', 'mermaid', 'html'] as const;

/** A format of `agl show`. */
export type ShowFormat = (typeof showFormats)[number];

/** The flags of `agl show`. */
export interface ShowFlags {
  readonly store: string;
  readonly attempt: string;
  readonly format: ShowFormat;
  /** A file's path; `-` for the terminal. */
  readonly output: string;
  readonly json?: boolean;
}
