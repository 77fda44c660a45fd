(faces) => {
  for (const [family, data, descriptors] of faces) {
    const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
    const face = new FontFace(family, bytes, descriptors);
    face.loaded.catch((error) => console.error(`The font "${family}" cannot be used:`, error));
    document.fonts.add(face);
  }
};
