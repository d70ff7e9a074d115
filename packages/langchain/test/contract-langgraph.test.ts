import { describeAdapterContract } from '@agentlightning/core/testing';
import { createReactAgent } from '@langchain/langgraph/prebuilt';
import { langchainUnderTest } from './langchain-under-test.ts';

describeAdapterContract(
  langchainUnderTest(
    'createReactAgent of langgraph 1.7',
    ({ name, instructions, model, tools }) =>
      createReactAgent({ name, llm: model, tools: [...tools], prompt: instructions }),
    { 'structured-output': 'createReactAgent asks the model a second time for it, and the scene has one answer' },
  ),
);
