import type { Command } from 'commander';
import type { InitFlags } from './run-init.ts';

/** Adds `agl init`. */
export function addInitCommand(program: Command): void {
  program
    .command('init')
    .description(
      'Set up an existing project: finds its framework, adds the line that instruments it and a configuration.',
    )
    .option('--agent <file>', 'the file of the agent (default: the only one that imports the framework)')
    .option('--yes', 'write the changes without asking')
    .option('--json', 'the plan as one JSON object; writes only with --yes')
    .addHelpText('after', helpText)
    .action(async (flags: InitFlags) => {
      const { runInit } = await import('./run-init.ts');
      await runInit(flags);
    });
}

const helpText = `
The changes are shown as a diff first. Without a terminal nothing is written unless you pass --yes.

Examples:
  agl init
  agl init --agent src/agent.ts --yes

Exit codes: 0 done, or nothing to do, 2 no supported framework, or the agent's file is not clear.`;
