import { describeAdapterContract } from '@agentlightning/core/testing';
import { createAgentUnderTest } from './create-agent-under-test.ts';

describeAdapterContract(createAgentUnderTest('langchain 1.5'));
