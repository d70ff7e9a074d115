/**
 * Trains the agent on a real language model, on the CPU of this machine. Flags are those of `agl train`; with `eval` or `export` as the
 * first argument, those of this command.
 */
import { trainWithSmolLM2 } from '../../tools/smollm2/train-with-smollm2.ts';
import { prepareTasks } from './prepare-tasks.ts';

const flags = process.argv.slice(2);
const index = flags.indexOf('--weights');
const [, weights] = index < 0 ? [] : flags.splice(index, 2);
const [first, ...others] = flags;

process.exitCode = await trainWithSmolLM2({
  folder: import.meta.dirname,
  ...(first === 'eval' || first === 'export' ? { command: first, flags: others } : { flags }),
  ...(weights !== undefined && { weights }),
  prepare: prepareTasks,
});
