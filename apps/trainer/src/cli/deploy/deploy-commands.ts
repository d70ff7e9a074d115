import type { Command } from 'commander';
import { defaultStoreUrl } from '../../config/environment.ts';
import { storeHelp } from '../flags.ts';
import { examples } from '../store/store-file-commands.ts';
import type { DeployFlags, ListFlags } from './deploy-actions.ts';

/** Adds `agl deploy`. */
export function addDeployCommand(program: Command): void {
  program
    .command('deploy')
    .description('Make a version of a run live in a deployment. Applications load its prompts with loadPrompts.')
    .argument('[version]', 'a checkpoint, such as run-1a2b@best, or prompts, such as run-1a2b@v3')
    .requiredOption('--to <deployment>', 'the name of the deployment')
    .option('--rollback', 'make the previous version live again')
    .option('--reason <text>', 'the reason, for the history', '')
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--json', 'one JSON object, for programs')
    .addHelpText(
      'after',
      examples(
        'agl deploy run-1a2b3c4d@best --to support-agent --reason "fewer complaints"',
        'It records the version; serving weights remains with `agl runtime` and `agl gateway`.',
      ),
    )
    .action(async (version: string | undefined, flags: DeployFlags) => {
      const { deploy } = await import('./deploy-actions.ts');
      await deploy(version ?? null, flags);
    });
}

/** Adds `agl deployments` and `agl models`. */
export function addModelCommands(program: Command): void {
  program
    .command('deployments')
    .description('List the deployments of a store, with their live version and history.')
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--json', 'one JSON object per line, for programs')
    .action(async (flags: ListFlags) => {
      const { listDeployments } = await import('./deploy-actions.ts');
      await listDeployments(flags);
    });
  program
    .command('models')
    .description('List the versions that are or were live, with their origin; or show one.')
    .argument('[version]', 'a version, such as run-1a2b@30')
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--json', 'one JSON object per line, for programs')
    .action(async (version: string | undefined, flags: ListFlags) => {
      const { listModels } = await import('./deploy-actions.ts');
      await listModels(version ?? null, flags);
    });
}
