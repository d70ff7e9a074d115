import type OpenAI from 'openai';
import OpenAI6 from 'openai-v6';
import { describeFetchContract } from './describe-fetch-contract.ts';

// The two majors differ in types that the contract has no use for.
describeFetchContract('openai 6', OpenAI6 as unknown as typeof OpenAI);
