/** Trains the agent on a real language model, on the CPU of this machine. Flags are those of `agl train`. */
import { trainWithSmolLM2 } from '../../tools/smollm2/train-with-smollm2.ts';

process.exitCode = await trainWithSmolLM2({ folder: import.meta.dirname, flags: process.argv.slice(2) });
