// Completes, streams and fails against a gateway; prints what it saw as one JSON object.
// Run with the gateway's address and a key: node client.mjs http://127.0.0.1:8080/v1 KEY
import OpenAI from 'openai';

const [baseURL, apiKey] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const question = {
  model: 'lamb_assistant.1',
  messages: [{ role: 'user', content: 'hi' }],
};

const whole = await client.chat.completions.create(question);

let streamed = '';
let events = 0;
const stream = await client.chat.completions.create({ ...question, stream: true });
for await (const chunk of stream) {
  streamed += chunk.choices[0]?.delta?.content ?? '';
  events += 'event' in chunk ? 1 : 0;
}

// The helper is stricter: it wants a finish reason and checks every chunk.
const helper = client.chat.completions.stream(question);
const gathered = await helper.finalContent();

const models = (await client.models.list()).data.map((model) => model.id);

const refused = await client.models.retrieve('lamb_assistant.9').catch((error) => error);

console.log(
  JSON.stringify({
    whole: whole.choices[0].message.content,
    usage: whole.usage.total_tokens,
    streamed,
    events,
    gathered,
    models,
    refused: [refused.status, refused.code, refused.constructor.name],
  }),
);
