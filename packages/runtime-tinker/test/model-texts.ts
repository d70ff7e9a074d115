import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { readModelFolder } from '../src/text/model-folder.ts';
import { ModelText } from '../src/text/model-text.ts';

/** The folder of the small tokenizer, of templates, and of the renderings that Transformers made of them. */
export const renderingsFolder: string = path.join(import.meta.dirname, 'renderings');

/** A template that knows no tools. */
export const chatMl: string =
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/** The small tokenizer with a template of the folder, or with the source of one, null for none; its context has 1,000 tokens. */
export async function textWith(
  chosen: { readonly template: string } | { readonly source: string | null },
): Promise<ModelText> {
  const files = await readModelFolder(renderingsFolder, {});
  const chatTemplate =
    'source' in chosen
      ? chosen.source
      : await readFile(path.join(renderingsFolder, `${chosen.template}.jinja`), 'utf8');
  return new ModelText({ ...files, chatTemplate, config: '{"max_position_embeddings": 1000}' });
}
