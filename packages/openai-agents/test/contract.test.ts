import { describeAdapterContract } from '@agentlightning/core/contracts';
import * as agents from '@openai/agents';
import OpenAI from 'openai';
import { cannot, openAIAgentsUnderTest } from './openai-agents-under-test.ts';

describeAdapterContract(
  openAIAgentsUnderTest(
    { name: 'openai-agents 0.20, Chat Completions', agents, OpenAI, api: 'chat-completions' },
    cannot['chat-completions'],
  ),
);

describeAdapterContract(
  openAIAgentsUnderTest({ name: 'openai-agents 0.20, Responses', agents, OpenAI, api: 'responses' }, cannot.responses),
);
