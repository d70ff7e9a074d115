/**
 * `pnpm sizes`: sizes of the packages that an agent installs, with their limits (.size-limit.js), and the number and size of the
 * packages that the trainer installs. The packages must be built.
 *
 * @module
 */
import { trainerWeight } from './verify/installed-weight.ts';
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
const weight = await trainerWeight();
console.log(weight.text);
process.exitCode = weight.isOk && sizes.every(({ isOk }) => isOk) ? 0 : 1;
