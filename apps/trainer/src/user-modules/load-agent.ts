import path from 'node:path';
import { AgentLightningError } from '@agentlightning/core';
import type { Agent } from '@agentlightning/runner';
import { defaultExport } from './default-export.ts';
import { importUserModule } from './import-user-module.ts';

/**
 * Loads the agent of a module: of a configuration file, its key `agent`; otherwise the export `agent` or the default export.
 *
 * @throws AgentLightningError CONFIG when the module has no agent; errors of the module are thrown unchanged
 */
export async function loadAgent(file: string): Promise<Agent> {
  const full = path.resolve(file);
  const exported = await importUserModule(full);
  const main = await defaultExport(exported);
  const candidates = [propertyOf(main, 'agent'), exported['agent'], main];
  const agent = candidates.find((candidate) => typeof candidate === 'function');
  if (agent !== undefined) return agent as Agent;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `${full} exports no agent`,
    remedy: 'Give the configuration, such as agl.config.ts, or a module with `export default agent`.',
  });
}

function propertyOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
