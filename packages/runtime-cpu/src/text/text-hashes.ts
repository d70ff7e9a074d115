import { createHash } from 'node:crypto';
import { chatTemplateName } from './chat-template.ts';
import { outputSize, specialTokenNames, vocabularySize } from './vocabulary.ts';

/** SHA-256 of all that decides which token a text becomes, in hexadecimal. There is no file; this is its definition. */
export const tokenizerSha256: string = sha256(
  JSON.stringify({ type: 'bytes', specialTokens: specialTokenNames, vocabularySize, outputSize }),
);

/** SHA-256 of the chat template's name, in hexadecimal: the template is a program, and a change of it changes its name. */
export const chatTemplateSha256: string = sha256(chatTemplateName);

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
