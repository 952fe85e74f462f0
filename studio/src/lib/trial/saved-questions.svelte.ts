/** The questions of an assistant that its authors ask again after an edit, as the server has them. */

import { api, versioned } from "#lib/api/client.ts";
import type { components } from "#lib/api/schema.d.ts";

type Question = components["schemas"]["SavedQuestion"];
export type SavedQuestion = Required<Question>;

export class SavedQuestions {
  list: readonly SavedQuestion[] = $state.raw([]);
  etag = "";

  /** Args:
   *   id: The assistant's.
   */
  constructor(readonly id: string) {}

  has(text: string): boolean {
    return this.list.some((each) => each.text === text);
  }

  async load(signal?: AbortSignal): Promise<void> {
    const params = { path: { id: this.id } };
    this.#take(await versioned(api.GET("/assistants/{id}/questions", { params, ...(signal && { signal }) })));
  }

  /** Replace all questions.
   *
   * Throws ApiError: Somebody else has changed them since `etag` (409), or one is not valid.
   */
  async store(questions: readonly SavedQuestion[], etag = this.etag): Promise<void> {
    const params = { path: { id: this.id }, header: { "If-Match": etag } };
    const body = { questions: [...questions] };
    this.#take(await versioned(api.PUT("/assistants/{id}/questions", { params, body })));
  }

  /** Add a question to those that the server has now. */
  async add(text: string): Promise<void> {
    await this.load();
    if (!this.has(text)) await this.store([...this.list, { title: "", text, expected: "" }]);
  }

  #take({ content, etag }: { content: { questions: readonly Question[] }; etag: string }): void {
    this.list = content.questions.map(({ title = "", text, expected = "" }) => ({
      title,
      text,
      expected,
    }));
    this.etag = etag;
  }
}
