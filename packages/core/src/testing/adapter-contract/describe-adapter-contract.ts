import { describe } from 'vitest';
import type { AdapterUnderTest } from './adapter-under-test.ts';
import { describeAgentScenes } from './agent-scenes.ts';
import { describeInstrumentScenes } from './instrument-scenes.ts';
import { describeResponseScenes } from './response-scenes.ts';
import { describeRolloutScenes } from './rollout-scenes.ts';
import { describeStreamScenes } from './stream-scenes.ts';

/**
 * Contract tests for adapters, with vitest: the same scenes for all adapters, each with the real framework against a
 * scripted server that fails on unexpected and missing calls.
 *
 * Each scene instruments the framework, runs an agent within a rollout, and checks the trace: agents, steps, model
 * calls and tool calls with names, messages, arguments and ids, and that calls are sent to the attempt's URL with their
 * trace position. See {@link AdapterUnderTest} for the inputs.
 *
 * @example
 * ```ts
 * describeAdapterContract({
 *   name: 'langchain 1.5',
 *   instrument: ({ redirect }) => instrumentLangChain({ redirect }),
 *   createModel: ({ baseUrl, apiKey, model }) => new ChatOpenAI({ model, apiKey, configuration: { baseURL: baseUrl } }),
 *   ask: (agent, { prompt }) => askLangChain(agent, prompt),
 *   cannot: { embeddings: 'LangChain has no callback for embeddings' },
 * });
 * ```
 */
export function describeAdapterContract<TModel>(adapter: AdapterUnderTest<TModel>): void {
  describe(`the adapter contract: ${adapter.name}`, () => {
    describeAgentScenes(adapter);
    describeStreamScenes(adapter);
    describeResponseScenes(adapter);
    describeRolloutScenes(adapter);
    describeInstrumentScenes(adapter);
  });
}
