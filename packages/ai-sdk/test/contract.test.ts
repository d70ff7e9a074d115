import { describeAdapterContract } from '@agentlightning/core/contracts';
import * as ai from 'ai';
import { instrumentAISDK } from '../src/index.ts';
import { type AISDKModules, askSceneAgent, currentProviders, embedText, sceneModel } from './scene-agent.ts';

const modules: AISDKModules = { ai, ...currentProviders };

describeAdapterContract({
  name: 'ai 7',
  instrument: ({ redirect }) => instrumentAISDK({ redirect }),
  createModel: (options) => sceneModel(modules, options),
  ask: (agent, ask) => askSceneAgent(modules, agent, ask),
  embed: (text, options) => embedText(modules, text, options),
  footprint: () => [Reflect.get(globalThis, 'AI_SDK_TELEMETRY_INTEGRATIONS')],
  cannot: {
    'many-choices': 'the AI SDK requests one choice only',
    'cached-response': 'the AI SDK has no cache',
  },
});
