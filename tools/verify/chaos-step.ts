import { runCommand } from './run-command.ts';
import type { Step, StepContext, StepResult } from './step.ts';

/**
 * The fault injections: a store whose server is killed under load, a gateway that gets malformed requests, and training
 * runs whose processes are killed, with and without a training server.
 */
const commands: readonly (readonly string[])[] = [
  ['node', 'tools/chaos.ts', 'store', '--kills', '40'],
  ['node', 'tools/chaos.ts', 'store', '--database', 'postgres', '--kills', '15', '--database-kills', '15'],
  ['node', 'tools/chaos.ts', 'gateway'],
  ['node', 'tools/chaos.ts', 'train', '--kills', '10'],
  ['node', 'tools/chaos.ts', 'server', '--database', 'sqlite', '--kills', '2'],
];

/** Runs the long fault injection. Each command counts. */
export const chaosStep: Step = {
  name: 'chaos',
  description: 'fault injection: kills and malformed requests',
  after: ['tests'],
  isLong: true,
  run: injectFaults,
};

async function injectFaults({ flash }: StepContext): Promise<StepResult> {
  const failures: string[] = [];
  for (const command of commands) {
    const { isOk, output } = await runCommand(command, { onLine: flash });
    if (!isOk) failures.push(`$ ${command.join(' ')}\n${output}`);
  }
  const passed = commands.length - failures.length;
  return { passed, failed: failures.length, remark: `${commands.length} runs`, output: failures.join('\n\n') };
}
