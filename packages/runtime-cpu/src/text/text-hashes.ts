import { createHash } from 'node:crypto';
import { chatTemplateName } from './chat-template.ts';
import { outputSize, specialTokenNames, vocabularySize } from './vocabulary.ts';

/** SHA-256 of the definition of the tokenizer, which has no file, in hexadecimal. */
export const tokenizerSha256: string = sha256(
  JSON.stringify({ type: 'bytes', specialTokens: specialTokenNames, vocabularySize, outputSize }),
);

/** SHA-256 of the chat template's name, in hexadecimal: the template is code, and its name changes with it. */
export const chatTemplateSha256: string = sha256(chatTemplateName);

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
