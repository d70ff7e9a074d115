import { AgentLightningError } from '@agentlightning/core';
import { addressText } from '@agentlightning/core/internal';
import { isPromptSearch, type ResolvedRun } from '../config/resolve-run.ts';
import { openRuntime } from '../runtime/open-runtime.ts';
import { checkEndpoint } from './check-endpoint.ts';
import { type Finding, fine } from './finding.ts';

/** Checks the runtime of a configuration, and the endpoint and token ids of its model as far as they exist before a run. */
export async function checkRuntime(config: ResolvedRun): Promise<readonly Finding[]> {
  const { runtime } = config;
  const { dataDir } = isPromptSearch(config) ? config.shared : config;
  if (runtime.type === 'endpoint') {
    const findings = [...(await checkEndpoint({ ...runtime, needsTokenIds: false }))];
    if (isPromptSearch(config)) {
      const [optimizer] = await checkEndpoint({ ...config.optimizer, needsTokenIds: false });
      if (optimizer !== undefined) findings.push({ ...optimizer, name: 'optimiser model' });
    }
    return findings;
  }
  const served: Finding = {
    name: 'token ids',
    status: 'skipped',
    detail: 'the runtime serves the model when a run starts',
    remedy: 'Run agl dev: it reports a model call that cannot be trained on.',
  };
  try {
    const open = await openRuntime(runtime, { dataDir, timeoutMs: 0, onWait: () => undefined });
    try {
      const { models } = await open.runtime.capabilities();
      const place = runtime.type === 'grpc' ? addressText(runtime.address) : 'embedded, on the CPU';
      return [fine('runtime', `${place}; models: ${models.map(({ name }) => name).join(', ')}`), served];
    } finally {
      await open.close();
    }
  } catch (error) {
    const isOurs = AgentLightningError.isInstance(error);
    const detail = isOurs ? error.message : String(error);
    return [{ name: 'runtime', status: 'error', detail, remedy: isOurs ? error.remedy : 'Check the address.' }, served];
  }
}
