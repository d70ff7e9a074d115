import { type AdapterUnderTest, describeAdapterContract } from '@agentlightning/core/testing';
import { patchGlobalFetch, patchOpenAI, traceFetch } from '@agentlightning/fetch';
import OpenAI from 'openai';
import OpenAI6 from 'openai-v6';
import { type OpenAIModel, openaiAgents } from './openai-adapter.ts';

const cannot: AdapterUnderTest<OpenAIModel>['cannot'] = {
  steps: 'a fetch sees requests, and knows nothing of the turns of whoever makes them',
  'tool-calls': 'tools are functions of the agent, and no requests to a model',
  'call-place': 'the gateway’s record is the only one of a call that goes there',
  'cached-answer': 'the openai client has no cache',
};
const madeBefore = { 'model-made-before': 'a client keeps the fetch it found when it was made' };

describeAdapterContract({
  name: 'the global fetch under openai 7',
  instrument: ({ redirect }) => patchGlobalFetch({ redirect }),
  ...openaiAgents(OpenAI),
  modelCallsBy: 'gateway',
  cannot: { ...cannot, ...madeBefore },
});

// The two majors differ in types that this test has no use for.
const classes = { 'openai 7': OpenAI, 'openai 6': OpenAI6 as unknown as typeof OpenAI };

for (const [name, OpenAIClass] of Object.entries(classes)) {
  describeAdapterContract({
    name: `the patched class of ${name}`,
    instrument: ({ redirect }) => patchOpenAI(OpenAIClass, { redirect }),
    ...openaiAgents(OpenAIClass),
    footprint: () => [Object.getOwnPropertyDescriptor(OpenAIClass.prototype, 'fetchWithTimeout')?.value],
    modelCallsBy: 'gateway',
    cannot,
  });
}

// A fetch that is given to a client: there is no line to take away again but the client's own.
let given: typeof fetch | undefined;

describeAdapterContract({
  name: 'a fetch that openai 7 is given',
  instrument: ({ redirect }) => {
    given = traceFetch({ redirect });
    return () => {
      given = undefined;
    };
  },
  ...openaiAgents(OpenAI, () => given),
  modelCallsBy: 'gateway',
  cannot: { ...cannot, ...madeBefore },
});
