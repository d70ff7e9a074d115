import { describeAdapterContract } from '@agentlightning/core/contracts';
import * as agentsModule from 'openai-agents-v0.14';
import { OpenAI as OpenAI6 } from 'openai-v6';
import { type AgentsModule, cannot, type OpenAIClass, openAIAgentsUnderTest } from './openai-agents-under-test.ts';

// The last line on version 6 of openai. What the drive uses of it is as in the current one.
const agents = agentsModule as unknown as AgentsModule;
const OpenAI = OpenAI6 as unknown as OpenAIClass;
const modules = [agents, OpenAI];

describeAdapterContract(
  openAIAgentsUnderTest(
    { name: 'openai-agents 0.14, Chat Completions', agents, OpenAI, api: 'chat-completions', modules },
    cannot['chat-completions'],
  ),
);

describeAdapterContract(
  openAIAgentsUnderTest(
    { name: 'openai-agents 0.14, Responses', agents, OpenAI, api: 'responses', modules },
    cannot.responses,
  ),
);
