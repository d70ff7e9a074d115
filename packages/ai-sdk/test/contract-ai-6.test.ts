import { describeAdapterContract } from '@agentlightning/core/contracts';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible-v2';
import { createOpenAI } from '@ai-sdk/openai-v3';
import * as ai from 'ai-v6';
import { instrumentAISDK, traceModel } from '../src/index.ts';
import { type AISDKModules, askSceneAgent, embedText, sceneModel } from './scene-agent.ts';

// The scenes use the common subset of both versions; only their types differ.
const modules = { ai, createOpenAI, createOpenAICompatible } as unknown as AISDKModules;

const noStream = 'version 6 exposes no stream and no errors: use traceModel';

describeAdapterContract({
  name: 'ai 6',
  instrument: ({ redirect }) => instrumentAISDK({ redirect }),
  createModel: (options) => sceneModel(modules, options),
  ask: (agent, ask) => askSceneAgent(modules, agent, ask),
  embed: (text, options) => embedText(modules, text, options),
  footprint: () => [Reflect.get(globalThis, 'AI_SDK_TELEMETRY_INTEGRATIONS')],
  cannot: {
    'partial-text': noStream,
    'stream-error': noStream,
    embeddings: 'version 6 reports no embeddings',
    'many-choices': 'the AI SDK requests one choice only',
    'cached-response': 'the AI SDK has no cache',
  },
});

describeAdapterContract({
  name: 'ai 6 with traceModel',
  instrument: ({ redirect }) => instrumentAISDK({ redirect }),
  createModel: (options) => {
    const { languageModel, maxRetries } = sceneModel(modules, options);
    return { languageModel: traceModel(languageModel), maxRetries };
  },
  ask: (agent, ask) => askSceneAgent(modules, agent, ask),
  embed: (text, options) => embedText(modules, text, options),
  footprint: () => [Reflect.get(globalThis, 'AI_SDK_TELEMETRY_INTEGRATIONS')],
  cannot: {
    embeddings: 'version 6 reports no embeddings',
    'many-choices': 'the AI SDK requests one choice only',
    'cached-response': 'the AI SDK has no cache',
  },
});
