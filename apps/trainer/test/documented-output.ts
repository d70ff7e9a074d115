import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { outputOf } from '../src/cli/output/command-outputs.ts';

/**
 * Asserts that what a command wrote with `--json` has the documented schema. A killed command may leave half a line at the end.
 *
 * @param args the arguments, without the program
 * @throws Error with the output and what is wrong with it
 */
export function assertDocumentedOutput(args: readonly string[], output: string): void {
  const documented = outputOf(args);
  if (documented === null || output === '') return;
  const { form, schema } = documented;
  const texts = form === 'document' ? [output] : output.split('\n').slice(0, -1);
  for (const text of texts) {
    const line: unknown = JSON.parse(text);
    const { data, error } = schema.safeParse(line);
    const undocumented = `Undocumented output of agl ${args.join(' ')}: ${text}`;
    if (error !== undefined) throw new Error(`${undocumented}\n${z.prettifyError(error)}`);
    // Schemas of events remove the fields that they do not know.
    if (!isDeepStrictEqual(data, line)) throw new Error(`${undocumented}\nIt has more fields than its schema.`);
  }
}
