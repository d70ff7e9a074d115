import type OpenAI from 'openai';
import OpenAI6 from 'openai-v6';
import { describeFetchContract } from './describe-fetch-contract.ts';

// The types of the two majors differ only where the contract does not use them.
describeFetchContract('openai 6', OpenAI6 as unknown as typeof OpenAI);
