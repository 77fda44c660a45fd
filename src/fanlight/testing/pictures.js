// Runs in an empty page: reads PNG files, compares them, and puts them beside each other.
(() => {
  const GAP = 16;
  const BAR = 28;

  /** @param {string} data A PNG file in base64. */
  const pixels = async (data) => {
    const bytes = Uint8Array.from(atob(data), (char) => char.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    const paper = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d", { willReadFrequently: true });
    paper.drawImage(bitmap, 0, 0);
    return paper.getImageData(0, 0, bitmap.width, bitmap.height);
  };

  /** @param {OffscreenCanvas} canvas */
  const base64 = async (canvas) => {
    const bytes = new Uint8Array(await (await canvas.convertToBlob({ type: "image/png" })).arrayBuffer());
    let text = "";
    for (let i = 0; i < bytes.length; i += 32_768) text += String.fromCharCode(...bytes.subarray(i, i + 32_768));
    return btoa(text);
  };

  /** Whether each point of a picture has the same colour. */
  const isBlank = async (data) => {
    const { data: values } = await pixels(data);
    const words = new Uint32Array(values.buffer);
    return words.every((word) => word === words[0]);
  };

  /**
   * Compare two pictures, point by point: a point differs if one of its colours does by more than `most`.
   * Where one picture ends, all points of the other differ.
   */
  const compare = async ([expected, actual, most]) => {
    const [a, b] = [await pixels(expected), await pixels(actual)];
    const [width, height] = [Math.max(a.width, b.width), Math.max(a.height, b.height)];
    const difference = new ImageData(width, height);
    let different = 0;
    for (let y = 0; y < height; y += 1) {
      for (let x = 0; x < width; x += 1) {
        const at = (y * width + x) * 4;
        const inside = (picture) => x < picture.width && y < picture.height;
        let far = !inside(a) || !inside(b);
        let grey = 255;
        if (!far) {
          const [i, j] = [(y * a.width + x) * 4, (y * b.width + x) * 4];
          for (let part = 0; part < 4; part += 1) far ||= Math.abs(a.data[i + part] - b.data[j + part]) > most;
          grey = 255 - (255 - (a.data[i] + a.data[i + 1] + a.data[i + 2]) / 3) / 4;
        }
        different += far ? 1 : 0;
        difference.data.set(far ? [220, 0, 60, 255] : [grey, grey, grey, 255], at);
      }
    }
    const made = { different, total: width * height, expected: [a.width, a.height], actual: [b.width, b.height] };
    return { ...made, picture: different ? await beside({ expected: a, actual: b, difference }) : null };
  };

  /** Put pictures beside each other, each under its name. */
  const beside = (named) => {
    const pictures = Object.entries(named);
    const width = pictures.reduce((sum, [, picture]) => sum + Math.max(picture.width, 80) + GAP, GAP);
    const height = Math.max(...pictures.map(([, picture]) => picture.height)) + BAR + 2 * GAP;
    const canvas = new OffscreenCanvas(width, height);
    const paper = canvas.getContext("2d");
    paper.fillStyle = "#777";
    paper.fillRect(0, 0, width, height);
    paper.font = "600 14px system-ui, sans-serif";
    let x = GAP;
    for (const [name, picture] of pictures) {
      paper.fillStyle = "#fff";
      paper.fillText(name, x, BAR);
      paper.putImageData(picture, x, BAR + GAP);
      x += Math.max(picture.width, 80) + GAP;
    }
    return base64(canvas);
  };

  /** Fill the page with pictures and their captions. Answers when they can be seen. */
  const sheet = async ([pictures, scale]) => {
    const figures = pictures.map(([caption, data]) => {
      const image = Object.assign(new Image(), { src: `data:image/png;base64,${data}`, alt: caption });
      const words = Object.assign(document.createElement("figcaption"), { textContent: caption });
      const figure = document.createElement("figure");
      figure.append(words, image);
      return figure;
    });
    document.body.replaceChildren(...figures);
    for (const image of document.images) {
      await image.decode();
      image.width = image.naturalWidth / scale;
    }
    const { width, height } = document.body.getBoundingClientRect();
    return [width, height];
  };

  window.pictures = { isBlank, compare, sheet };
})();
