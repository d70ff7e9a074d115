import { type AdapterUnderTest, describeAdapterContract } from '@agentlightning/core/contracts';
import { instrumentGlobalFetch, instrumentOpenAI, traceFetch } from '@agentlightning/fetch';
import type OpenAI from 'openai';
import { type OpenAIModel, openaiAgents } from './openai-adapter.ts';

const cannot: AdapterUnderTest<OpenAIModel>['cannot'] = {
  steps: 'a fetch sees requests, and knows nothing of the turns of whoever makes them',
  'tool-calls': 'tools are functions of the agent, and no requests to a model',
  'call-place': 'the gateway’s record is the only one of a call that goes there',
  'cached-answer': 'the openai client has no cache',
};
const madeBefore = { 'model-made-before': 'a client keeps the fetch it found when it was made' };

/**
 * Plays the adapter contract in each way this package has, with the clients of one version of `openai`.
 *
 * @param name - the version, in the test report
 */
export function describeFetchContract(name: string, OpenAIClass: typeof OpenAI): void {
  describeAdapterContract({
    name: `the global fetch under ${name}`,
    instrument: ({ redirect }) => instrumentGlobalFetch({ redirect }),
    ...openaiAgents(OpenAIClass),
    modelCallsBy: 'gateway',
    cannot: { ...cannot, ...madeBefore },
  });

  describeAdapterContract({
    name: `the patched class of ${name}`,
    instrument: ({ redirect }) => instrumentOpenAI(OpenAIClass, { redirect }),
    ...openaiAgents(OpenAIClass),
    footprint: () => [Object.getOwnPropertyDescriptor(OpenAIClass.prototype, 'fetchWithTimeout')?.value],
    modelCallsBy: 'gateway',
    cannot,
  });

  // A fetch that is given to a client: there is no line to take away again but the client's own.
  let given: typeof fetch | undefined;

  describeAdapterContract({
    name: `a fetch that ${name} is given`,
    instrument: ({ redirect }) => {
      given = traceFetch({ redirect });
      return () => {
        given = undefined;
      };
    },
    ...openaiAgents(OpenAIClass, () => given),
    modelCallsBy: 'gateway',
    cannot: { ...cannot, ...madeBefore },
  });
}
