/**
 * `pnpm sizes`: how big what an agent installs is, and how big it may be (.size-limit.js). The packages must be built.
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
