import { type AdapterUnderTest, describeAdapterContract } from '@agentlightning/core/contracts';
import { instrumentGlobalFetch, instrumentOpenAI, traceFetch } from '@agentlightning/fetch';
import type OpenAI from 'openai';
import { type OpenAIModel, openaiAgents } from './openai-adapter.ts';

const cannot: AdapterUnderTest<OpenAIModel>['cannot'] = {
  steps: 'fetch sees requests but not the turns of the agent',
  'tool-calls': 'tools are functions of the agent, not model requests',
  'call-place': 'only the gateway records a redirected call',
  'cached-response': 'the openai client has no cache',
};
const createdBefore = { 'model-made-before': 'a client keeps the fetch found at its creation' };

/**
 * Runs the adapter contract for each function of this package, with the clients of one version of `openai`.
 *
 * @param name - the version, in the test report
 */
export function describeFetchContract(name: string, OpenAIClass: typeof OpenAI): void {
  describeAdapterContract({
    name: `the global fetch under ${name}`,
    instrument: ({ redirect }) => instrumentGlobalFetch({ redirect }),
    ...openaiAgents(OpenAIClass),
    modelCallsBy: 'gateway',
    cannot: { ...cannot, ...createdBefore },
  });

  describeAdapterContract({
    name: `the patched class of ${name}`,
    instrument: ({ redirect }) => instrumentOpenAI(OpenAIClass, { redirect }),
    ...openaiAgents(OpenAIClass),
    footprint: () => [Object.getOwnPropertyDescriptor(OpenAIClass.prototype, 'fetchWithTimeout')?.value],
    modelCallsBy: 'gateway',
    cannot,
  });

  // A fetch passed to a client cannot be undone.
  let given: typeof fetch | undefined;

  describeAdapterContract({
    name: `a fetch passed to ${name}`,
    instrument: ({ redirect }) => {
      given = traceFetch({ redirect });
      return () => {
        given = undefined;
      };
    },
    ...openaiAgents(OpenAIClass, () => given),
    modelCallsBy: 'gateway',
    cannot: { ...cannot, ...createdBefore },
  });
}
