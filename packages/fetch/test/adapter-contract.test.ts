import { describeAdapterContract } from '@agentlightning/core/testing';
import { patchGlobalFetch } from '@agentlightning/fetch';
import OpenAI from 'openai';
import { openaiAgents } from './openai-adapter.ts';

const cannot = {
  steps: 'a fetch sees requests, and knows nothing of the turns of whoever makes them',
  'tool-calls': 'tools are functions of the agent, and no requests to a model',
  'call-place': 'the gateway’s record is the only one of a call that goes there',
  'cached-answer': 'the openai client has no cache',
} as const;

describeAdapterContract({
  name: 'fetch, the global one, under openai 7',
  instrument: ({ redirect }) => patchGlobalFetch({ redirect }),
  ...openaiAgents(OpenAI),
  modelCallsBy: 'gateway',
  cannot: { ...cannot, 'model-made-before': 'a client keeps the fetch it found when it was made' },
});
