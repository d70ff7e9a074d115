import { describe } from 'vitest';
import type { AdapterUnderTest } from './adapter-under-test.ts';
import { describeAgentScenes } from './agent-scenes.ts';
import { describeAnswerScenes } from './answer-scenes.ts';
import { describeInstrumentScenes } from './instrument-scenes.ts';
import { describeRolloutScenes } from './rollout-scenes.ts';
import { describeStreamScenes } from './stream-scenes.ts';

/**
 * The contract that every adapter keeps, as vitest tests: the same scenes for all, each with the real framework
 * against a scripted server that fails on calls that are too many or too few.
 *
 * In each scene the adapter is put in place, an agent is asked something within a rollout, and the trace is looked
 * at: agents, steps, model calls and tool calls with their names, messages, arguments and ids, and that the calls
 * arrived at the attempt's own address with their place in the trace. See {@link AdapterUnderTest} for what is needed.
 *
 * @example
 * ```ts
 * describeAdapterContract({
 *   name: 'langchain 1.5',
 *   instrument: ({ redirect }) => instrumentLangChain({ redirect }),
 *   createModel: ({ baseUrl, apiKey, model }) => new ChatOpenAI({ model, apiKey, configuration: { baseURL: baseUrl } }),
 *   ask: (agent, { prompt }) => askLangChain(agent, prompt),
 *   cannot: { embeddings: 'LangChain tells no callback of embeddings' },
 * });
 * ```
 */
export function describeAdapterContract<TModel>(adapter: AdapterUnderTest<TModel>): void {
  describe(`the adapter contract: ${adapter.name}`, () => {
    describeAgentScenes(adapter);
    describeStreamScenes(adapter);
    describeAnswerScenes(adapter);
    describeRolloutScenes(adapter);
    describeInstrumentScenes(adapter);
  });
}
