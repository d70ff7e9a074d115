import { describeAdapterContract } from '@agentlightning/core/testing';
import * as agents from '@openai/agents';
import OpenAI from 'openai';
import { openAIAgentsUnderTest } from './openai-agents-under-test.ts';

const cannot = {
  embeddings: 'OpenAI Agents makes no embeddings',
  'cached-answer': 'OpenAI Agents has no cache of answers',
};

describeAdapterContract(
  openAIAgentsUnderTest(
    { name: 'openai-agents 0.20, Chat Completions', agents, OpenAI, api: 'chat-completions' },
    cannot,
  ),
);

describeAdapterContract(
  openAIAgentsUnderTest(
    { name: 'openai-agents 0.20, Responses', agents, OpenAI, api: 'responses' },
    { ...cannot, 'many-choices': 'The Responses API gives one answer' },
  ),
);
