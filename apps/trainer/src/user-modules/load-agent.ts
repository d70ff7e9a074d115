import path from 'node:path';
import { AgentLightningError } from '@agentlightning/core';
import type { Agent } from '@agentlightning/runner';
import { defaultExport, importUserModule } from './import-user-module.ts';
import { stagedAgent } from './staged-agent.ts';

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

/** The agent of a module, with the reward of its configuration. */
export interface LoadedAgent {
  readonly agent: Agent<unknown, unknown>;
  /** The configured reward, not validated; undefined for an agent that returns its reward. */
  readonly reward: unknown;
}

/**
 * Loads the agent of a module: of a configuration file, its key `agent`; otherwise the export `agent` or the default export.
 * The reward is the key or export `reward`.
 *
 * @throws AgentLightningError CONFIG when the module has no agent; errors of the module are thrown unchanged
 */
export async function loadAgent(file: string): Promise<LoadedAgent> {
  const full = path.resolve(file);
  const exported = await importUserModule(full);
  const main = await defaultExport(exported);
  const candidates = [propertyOf(main, 'agent'), exported['agent'], main];
  const agent = candidates.find((candidate) => typeof candidate === 'function');
  const reward = propertyOf(main, 'reward') ?? exported['reward'];
  if (agent !== undefined) return { agent: stagedAgent(agent as Agent<unknown, unknown>, stagesOf(main)), reward };
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `${full} exports no agent`,
    remedy: 'Give the configuration, such as agl.config.ts, or a module with `export default agent`.',
  });
}

/** The stages of a configuration, not validated. */
function stagesOf(main: unknown): readonly { readonly agent?: unknown }[] {
  const stages = propertyOf(main, 'stages');
  return Array.isArray(stages) ? stages.map((stage) => ({ agent: propertyOf(stage, 'agent') })) : [];
}

function propertyOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
