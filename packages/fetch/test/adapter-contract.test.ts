import OpenAI from 'openai';
import { describeFetchContract } from './describe-fetch-contract.ts';

describeFetchContract('openai 7', OpenAI);
