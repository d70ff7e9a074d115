/**
 * `pnpm sizes`: sizes of the packages that an agent installs, with their limits (.size-limit.js). The packages must be
 * built.
 *
 * @module
 */
import { measureSizes } from './verify/measure-sizes.ts';

const sizes = await measureSizes();
console.table(
  Object.fromEntries(
    sizes.map(({ name, bytes, limitBytes, isOk }) => [
      name,
      { 'gzip bytes': bytes, limit: limitBytes, within: isOk ? 'yes' : 'NO' },
    ]),
  ),
);
process.exitCode = sizes.every(({ isOk }) => isOk) ? 0 : 1;
