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
