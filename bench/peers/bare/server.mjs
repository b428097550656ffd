// What Node alone does: it reads the body, adds one, answers.
import { createServer } from "node:http";

createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    const text = JSON.stringify({ n: JSON.parse(Buffer.concat(parts).toString()).n + 1 });
    response.writeHead(200, { "content-type": "application/json", "content-length": text.length }).end(text);
  });
}).listen(Number(process.env.PORT), "127.0.0.1");
