/**
 * `pnpm extras <name> …`: installs large packages that only some steps need, such as `claude-code` for the example
 * claude-agent-porter. Tests and `pnpm verify` install what they need.
 */
import { readdirSync } from 'node:fs';
import { type Extra, installExtra } from './extras.ts';

const known = readdirSync(import.meta.dirname, { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
);
const isExtra = (name: string): name is Extra => known.includes(name);
const names = process.argv.slice(2).filter((name) => name !== '--');
const unknown = names.filter((name) => !isExtra(name));
if (names.length === 0 || unknown.length > 0) {
  console.error(`${unknown.join(', ') || 'Nothing'} is not one of ${known.join(', ')}.`);
  process.exitCode = 2;
} else {
  for (const name of names.filter(isExtra)) await installExtra(name);
}
