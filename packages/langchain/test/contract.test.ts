import { describeAdapterContract } from '@agentlightning/core/contracts';
import { createAgentUnderTest } from './create-agent-under-test.ts';

describeAdapterContract(createAgentUnderTest('langchain 1.5'));
