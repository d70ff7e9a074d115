import { type Command, Option } from 'commander';
import { defaultStoreUrl } from '../../config/environment.ts';
import { storeHelp } from '../flags.ts';
import type { RunsFlags } from './list-runs.ts';
import type { WorkersFlags } from './list-workers.ts';
import { type ShowFlags, showFormats } from './show-format.ts';
import type { PromptsFlags } from './show-prompts.ts';

/** Adds `agl prompts`. */
export function addPromptsCommand(program: Command): void {
  program
    .command('prompts')
    .description('Show the result of a prompt search: versions, scores and changes.')
    .argument('<run>', 'the id of a run')
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--from <version>', 'the version to compare with', 'v0')
    .option('--to <version>', 'the version to show', 'best')
    .option('--text', 'only the text of the prompts of --to')
    .option('--json', 'everything as one JSON object')
    .addHelpText('after', promptsHelp)
    .action(async (runId: string, flags: PromptsFlags) => {
      const { showPrompts } = await import('./show-prompts.ts');
      await showPrompts(runId, flags);
    });
}

const promptsHelp = `
Examples:
  agl prompts run-3f9a                      the versions, and what changed from the first to the best
  agl prompts run-3f9a --from v2 --to v5    what changed between two of them
  agl prompts run-3f9a --text               the best prompts, to copy`;

/** Adds `agl workers`. */
export function addWorkersCommand(program: Command): void {
  program
    .command('workers')
    .description('List the registered runners of a store, with their load and last heartbeat.')
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--json', 'one JSON object per line, for programs')
    .action(async (flags: WorkersFlags) => {
      const { listWorkers } = await import('./list-workers.ts');
      await listWorkers(flags);
    });
}

/** Adds `agl runs`. */
export function addRunsCommand(program: Command): void {
  program
    .command('runs')
    .description('List the training runs of a store, newest first.')
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--json', 'one JSON object per line, for programs')
    .action(async (flags: RunsFlags) => {
      const { listRuns } = await import('./list-runs.ts');
      await listRuns(flags);
    });
}

/** Adds `agl show`. */
export function addShowCommand(program: Command): void {
  program
    .command('show')
    .description('Show a rollout: its attempts, the tree of its trace, and the conversation.')
    .argument('<rollout>', 'the id of a rollout')
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--attempt <attempt>', 'which attempt', 'latest')
    .addOption(new Option('--format <format>', 'format of the trace').choices(showFormats).default('tree'))
    .option('--output <file>', 'output file; - for standard output', '-')
    .option('--json', 'the rollout and its spans as JSON')
    .addHelpText('after', showHelp)
    .action(async (rolloutId: string, flags: ShowFlags) => {
      const { showRollout } = await import('./show-rollout.ts');
      await showRollout(rolloutId, flags);
    });
}

const showHelp = `
Examples:
  agl show ro-3f9a                                        the tree of the latest attempt, in the terminal
  agl show ro-3f9a --format html --output trace.html      a page that stands alone: waterfall, messages, tokens, rewards
  agl show ro-3f9a --format mermaid                       a flowchart for pages that render Mermaid`;
