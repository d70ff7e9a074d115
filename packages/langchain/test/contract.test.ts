import { describeAdapterContract } from '@agentlightning/core/testing';
import { createAgent, providerStrategy } from 'langchain';
import { langchainUnderTest } from './langchain-under-test.ts';

describeAdapterContract(
  langchainUnderTest('createAgent of langchain 1.5', ({ name, instructions, model, tools, output }) =>
    createAgent({
      name,
      model,
      tools: [...tools],
      systemPrompt: instructions,
      ...(output === null ? {} : { responseFormat: providerStrategy(output) }),
    }),
  ),
);
