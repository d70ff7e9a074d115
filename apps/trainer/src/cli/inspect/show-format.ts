/** How `agl show` can draw a trace. */
export const showFormats = ['tree', 'mermaid', 'html'] as const;

/** One of the ways in which `agl show` draws a trace. */
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
