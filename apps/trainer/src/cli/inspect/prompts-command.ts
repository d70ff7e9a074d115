import type { Command } from 'commander';
import { defaultStoreUrl } from '../../config/default-store-url.ts';
import { storeHelp } from '../store-option.ts';
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
