import path from 'node:path';
import { AgentLightningError } from '@agentlightning/core';
import { defaultExport } from './default-export.ts';
import { importUserModule } from './import-user-module.ts';

/**
 * Loads a reward, not validated: of a configuration file, its key `reward`; otherwise the export `reward` or the default export.
 *
 * @throws AgentLightningError CONFIG when the module has no reward; errors of the module are thrown unchanged
 */
export async function loadReward(file: string): Promise<unknown> {
  const full = path.resolve(file);
  const exported = await importUserModule(full);
  const main = await defaultExport(exported);
  const isConfiguration = typeof main === 'object' && main !== null && 'agent' in main;
  const configured = typeof main === 'object' && main !== null && 'reward' in main ? main.reward : undefined;
  const reward = configured ?? exported['reward'] ?? (isConfiguration ? undefined : main);
  if (reward !== undefined) return reward;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `${full} exports no reward`,
    remedy:
      'Write `export default rewards({ … })` or a function `({ task, output }) => score`; or give a configuration with `reward`.',
  });
}
