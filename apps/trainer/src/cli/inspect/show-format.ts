import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Whether text for `--output` has colours. */
export function isColouredOutput(output: string): boolean {
  return output === '-' && process.stdout.isTTY && process.stdout.hasColors();
}

/** Writes text to the file of `--output`, or to standard output for `-`. */
export async function writeOutput(output: string, text: string): Promise<void> {
  if (output === '-') {
    process.stdout.write(text);
    return;
  }
  await mkdir(dirname(output), { recursive: true });
  await writeFile(output, text);
  process.stdout.write(`Written to ${output}\n`);
}

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
