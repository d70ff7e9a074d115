import { type CommandOptions, runCommand } from './run-command.ts';
import type { Step } from './step.ts';

/** A step that is one command: exit code 0 means passed. */
export interface CommandStepOptions extends CommandOptions, Pick<Step, 'name' | 'description' | 'after'> {
  /** The program and its arguments. */
  readonly command: readonly string[];
  /** Finds the remark for the progress line in the output: the first group, or the whole match. */
  readonly remark?: RegExp;
}

/** Creates a step from a command. */
export function commandStep(options: CommandStepOptions): Step {
  const { name, description, after = [], command } = options;
  return {
    name,
    description,
    after,
    run: async ({ flash }) => {
      const { isOk, output } = await runCommand(command, { ...options, onLine: flash });
      const match = options.remark?.exec(output);
      const result = { passed: isOk ? 1 : 0, failed: isOk ? 0 : 1, output: `$ ${command.join(' ')}\n${output}` };
      return match ? { ...result, remark: match[1] ?? match[0] } : result;
    },
  };
}
